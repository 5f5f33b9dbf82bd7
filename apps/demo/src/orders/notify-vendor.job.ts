import { WorkflowJob, type JobHandler } from 'nestjs-pg-workflows';
import { Mailbox } from '../mail/mailbox';

export interface VendorNotice {
  readonly vendor: string;
  readonly text: string;
  /** The same when the step fans out again. */
  readonly key: string;
}

/** One job of the fan-out. After three tries it is dead-lettered, and the others go on. A real shop would back off for minutes. */
@WorkflowJob({ maxAttempts: 3, backoff: (tries) => 100 * 2 ** tries })
export class NotifyVendor implements JobHandler<VendorNotice> {
  constructor(private readonly mailbox: Mailbox) {}

  perform({ vendor, text, key }: VendorNotice) {
    return this.mailbox.send({ key, to: vendor, text });
  }
}
