import { ModelCourse } from './model-course';
import { endTry, failTry, isOpen, label, OUTCOME, rowOf, type Member, type Row, type Run } from './model-rows';
import type { Release } from './model-workflows';

/** FAN: batches, their members, and the join. */
export abstract class ModelBatches extends ModelCourse {
  protected readonly heldMembers: { readonly member: Member; readonly tries: number }[] = [];

  protected openBatch(run: Run, row: Row, size: number, release: Release): void {
    run.events.push('fan_out_opened');
    const members = Array.from({ length: size }, (_, index): Member => {
      const name = `${this.runs.indexOf(run)} ${label(row)} [${index}]`;
      return { label: name, status: 'scheduled', tries: 0, age: 0 };
    });
    row.batch = { size, members };
    if (size === 0) {
      run.events.push('fan_out_finished');
      return this.endRow(run, row, 'completed', { release });
    }
    row.status = 'waiting';
    if (run.status !== 'paused') run.status = 'waiting';
    run.events.push('step_waiting');
  }

  protected get members(): Member[] {
    return this.runs.flatMap(({ rows }) => rows.flatMap(({ batch }) => batch?.members ?? []));
  }

  protected claimMember(seen: string): string {
    const due = this.members.filter(({ status }) => status === 'scheduled');
    if (!due.length) return 'nothing';
    const member = due.find((one) => one.label === seen);
    if (!member) return `one of ${due.map((one) => one.label).join(', ')}`;
    member.status = 'in_progress';
    member.tries += 1;
    member.age = 0;
    this.heldMembers.push({ member, tries: member.tries });
    return member.label;
  }

  protected endMember(which: number, fails: boolean): string {
    if (!this.heldMembers.length) return 'nothing';
    const [{ member, tries }] = this.heldMembers.splice(which % this.heldMembers.length, 1);
    if (member.status !== 'in_progress' || member.tries !== tries) return 'late';
    if (fails) failTry(member);
    else endTry(member, 'completed');
    return 'done';
  }

  /** Somebody deletes a member's row, by hand, of the batch that the newest run waits for. */
  protected loseMember(): string {
    const { batch, status } = rowOf(this.newest);
    const lost = status === 'waiting' ? batch?.members.find((member) => member.status !== 'in_progress') : undefined;
    if (!lost) return 'nothing';
    batch!.members = batch!.members.filter((member) => member !== lost);
    return 'done';
  }

  protected join(run: Run): string {
    const row = rowOf(run);
    if (row.status !== 'waiting' || !row.batch || row.batch.members.some(isOpen)) return 'nothing';
    run.events.push('fan_out_finished');
    const gone = row.batch.members.length < row.batch.size;
    const failed = row.batch.members.some(({ status }) => status === 'failed');
    const error = 'FanOutFailedError';
    if (this.release.fan === 'undeclared') this.leave(run, row);
    else if (gone) this.endRow(run, row, 'paused', { error });
    else if (failed)
      this.endRow(run, row, OUTCOME[this.release.fan ? 'pause' : this.variant.onBatchFailure], { error });
    else this.endRow(run, row, 'completed');
    return 'done';
  }
}
