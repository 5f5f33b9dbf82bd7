/** Something whose code can be asked to stop. The controller is made when somebody looks: most bodies never do. */
export class Abortable {
  private controller: AbortController | undefined;
  private reason: { readonly value: unknown } | undefined;

  get abortSignal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.reason) this.controller.abort(this.reason.value);
    }
    return this.controller.signal;
  }

  /** Why it was asked to stop; undefined: it was not. */
  get abortedWith(): unknown {
    return this.reason?.value;
  }

  /** Asks it to stop. The first reason stays. */
  abort(reason: unknown): void {
    if (this.reason) return;
    this.reason = { value: reason };
    this.controller?.abort(reason);
  }
}
