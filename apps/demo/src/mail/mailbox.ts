import { Injectable } from '@nestjs/common';

export interface Mail {
  /** A second mail with the same key is not sent. */
  readonly key: string;
  readonly to: string;
  readonly text: string;
}

/** Stands for a mail service that honours idempotency keys. */
@Injectable()
export class Mailbox {
  readonly sent: Mail[] = [];

  async send(mail: Mail): Promise<void> {
    if (this.sent.some(({ key }) => key === mail.key)) return;
    this.sent.push(mail);
  }
}
