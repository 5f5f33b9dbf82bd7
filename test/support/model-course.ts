import type { Thrown } from './model-commands';
import {
  after,
  close,
  consume,
  endRun,
  OUTCOME,
  type Held,
  type Outcome,
  type Row,
  type Run,
  type Signal,
} from './model-rows';
import { RELEASES, type Release, type StepName, type Variant } from './model-workflows';

/** Runs, and what the end of an attempt does to its run, whatever ended it. */
export abstract class ModelCourse {
  protected readonly runs: Run[] = [];
  protected readonly held: Held[] = [];
  /** Deployed last. */
  protected release = RELEASES[0];

  constructor(protected readonly variant: Variant) {}

  protected get newest(): Run {
    return this.runs.at(-1)!;
  }

  protected begin(key: string | null): Run {
    const run: Run = { key, status: 'ready', rows: [], signals: [], events: ['started'] };
    this.runs.push(run);
    return run;
  }

  protected open(run: Run, step: StepName, due: boolean): void {
    const attempt = run.rows.filter((row) => row.step === step).length + 1;
    run.rows.push({
      step,
      attempt,
      status: 'scheduled',
      outcome: null,
      error: null,
      due,
      deadline: 'none',
      timedOut: false,
      age: 0,
      batch: null,
    });
    run.events.push('step_scheduled');
  }

  protected started(run: Run, row: Row, release = this.release): void {
    row.status = 'in_progress';
    row.age = 0;
    run.status = 'performing';
    run.events.push('step_started');
    this.held.push({ run, row, release });
  }

  protected take(run: Run, row: Row, signal: Signal): void {
    signal.status = 'claimed';
    signal.by = row;
    run.events.push('signal_claimed');
  }

  /** REN-01, REN-03, AMB-21. */
  protected leave(run: Run, row: Row): void {
    if (this.release[row.step] === 'removed') this.endRow(run, row, 'skipped');
    else this.endRow(run, row, 'paused', { error: 'StepNotDefinedError' });
  }

  /** OPS-21 to OPS-28: what an attempt's end does to its run. */
  protected endRow(
    run: Run,
    row: Row,
    outcome: Outcome,
    {
      error = null,
      later = false,
      release = this.release,
    }: { error?: string | null; later?: boolean; release?: Release } = {},
  ): void {
    const paused = run.status === 'paused';
    row.error = error;
    switch (outcome) {
      case 'completed':
      case 'skipped': {
        close(row, outcome, outcome);
        consume(run, row.step);
        run.events.push(outcome === 'completed' ? 'step_completed' : 'step_skipped');
        const next = after(row.step, release)!;
        if (next === null) return endRun(run, 'finished');
        if (!paused) run.status = 'ready';
        return this.open(run, next, next !== 'last');
      }
      case 'finished':
        close(row, 'completed', outcome);
        run.events.push('step_completed');
        return endRun(run, 'finished');
      case 'cancelled':
        close(row, error ? 'failed' : 'cancelled', outcome);
        if (error) run.events.push('step_failed');
        return endRun(run, 'cancelled');
      case 'paused':
        close(row, error ? 'failed' : 'completed', outcome);
        if (!error) consume(run, row.step);
        run.events.push(error ? 'step_failed' : 'step_completed');
        if (!paused) run.events.push('paused');
        run.status = 'paused';
        return;
      case 'reattempted':
        close(row, 'failed', outcome);
        run.events.push('step_reattempted');
        if (!paused) run.status = 'ready';
        return this.open(run, row.step, !later);
    }
  }

  /** EXC-05 to EXC-12, AMB-45. */
  protected endOnError(run: Run, row: Row, thrown: Thrown, release = this.release): void {
    const { error } = thrown;
    switch (error) {
      case 'Boom':
        return this.endRow(run, row, 'paused', { error, release });
      case 'Fatal':
        return this.endRow(run, row, 'cancelled', { error, release });
      case 'Ignorable':
        return this.endRow(run, row, 'skipped', { error, release });
      case 'Handled':
        return this.endRow(run, row, OUTCOME[thrown.verb ?? 'pause'], { error, release });
      case 'Flaky': {
        const before = run.rows.filter(({ step, attempt }) => step === row.step && attempt < row.attempt).toReversed();
        const others = before.findIndex(({ outcome }) => outcome !== 'reattempted');
        const reattempts = others < 0 ? before.length : others;
        return this.endRow(run, row, reattempts < 2 ? 'reattempted' : OUTCOME[this.variant.terminalAction], {
          error,
          release,
        });
      }
    }
  }
}
