/** Somebody outside, who speaks HTTP with the application. */
export class Client {
  constructor(readonly url: string) {}

  post<Answer>(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.send('POST', path, {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  }

  get<Answer>(path: string): Promise<Answer> {
    return this.send('GET', path);
  }

  async delete(path: string): Promise<void> {
    await this.send('DELETE', path);
  }

  private async send<Answer>(method: string, path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(new URL(path, this.url), { method, ...init });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text.slice(0, 500)}`);
    return (text === '' ? undefined : JSON.parse(text)) as Answer;
  }
}
