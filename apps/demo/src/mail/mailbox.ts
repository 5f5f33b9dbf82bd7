import { Injectable } from '@nestjs/common';

export class MailboxGone extends Error {}

export interface Mail {
  /** A second mail with the same key is not sent. */
  readonly key: string;
  readonly to: string;
  readonly text: string;
}

/** Stands for a mail service that honours idempotency keys. Not everybody can be reached by it any more. */
@Injectable()
export class Mailbox {
  readonly sent: Mail[] = [];
  /** Who moved away. */
  readonly gone: ReadonlySet<string> = new Set(['tinker']);

  async send(mail: Mail): Promise<void> {
    if (this.gone.has(mail.to)) throw new MailboxGone(`the mailbox of ${mail.to} is gone`);
    if (this.sent.some(({ key }) => key === mail.key)) return;
    this.sent.push(mail);
  }
}
