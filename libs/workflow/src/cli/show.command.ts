import { agoText } from '../insights/time-text.js';
import type { AttemptView, EventList, RunView } from '../insights/views.js';
import { EXIT } from './exit.js';
import { fields, oneLine, table, visible } from './output.js';
import { REDACTED, redacted } from './redact.js';
import type { Prepare } from './session.js';

const MOST_EVENTS = 500;

/** `show`: one run, and what happened to it. */
export const show: Prepare =
  ({ positionals, flags }) =>
  async ({ out, reads, json }) => {
    const id = positionals[0]!;
    const payloads = flags.has('payloads');
    const read = await reads.run(id);
    const run = payloads ? read : redacted(read);
    const trail = await reads.events(id, { limit: MOST_EVENTS });
    if (json) {
      await out.json({ run, ...trail });
      return EXIT.fine;
    }
    const now = new Date(run.read_at);
    const head = (text: string) => out.paint('bold', text);
    await out.line(head(oneLine(`${run.class} ${run.id}`)));
    for (const line of runLines(run, now)) await out.line(line);
    const sections: readonly (readonly [string, readonly string[]])[] = [
      [attemptsHead(run), attemptLines(run, now, payloads)],
      [`Signals, newest first`, signalLines(run, now)],
      [
        trail.next_cursor === null ? 'What happened' : `What happened: the first ${MOST_EVENTS} lines`,
        trailLines(trail, now),
      ],
    ];
    for (const [title, lines] of sections) {
      if (lines.length === 0) continue;
      await out.line();
      await out.line(head(title));
      for (const line of lines) await out.line(`  ${line}`);
    }
    return EXIT.fine;
  };

/** What a run is and does, a line each. */
export function runLines(run: RunView, now: Date): string[] {
  const moment = (text: string) => agoText(new Date(text), now);
  const entries: (readonly [string, string | null])[] = [
    ['status', run.stuck_reason === null ? run.status : `${run.status} (${run.stuck_reason})`],
    ['subject', run.subject && `${run.subject.type} ${run.subject.id}`],
    ['now', run.now],
    ['next', run.next],
    ['actions', run.available_actions.join(', ') || 'none: it has ended'],
    ['created', moment(run.created_at)],
    ['ended', run.ended_at && moment(run.ended_at)],
    ['key', run.idempotency_key],
    ['rerun of', run.rerun_of],
    ['rerun as', run.rerun_as],
    ['steps', run.definition_outdated ? 'it began on another list of steps than its class has now' : null],
    ['args', valueText(run.args)],
  ];
  return fields(entries.flatMap(([name, value]) => (value === null ? [] : [[name, oneLine(value)] as const])));
}

function attemptsHead({ attempts, attempts_total: total }: RunView): string {
  return total > attempts.length ? `The newest ${attempts.length} of ${total} attempts` : 'Attempts, newest first';
}

function attemptLines({ attempts }: RunView, now: Date, payloads: boolean): string[] {
  if (attempts.length === 0) return [];
  const lines = table(
    ['STEP', '#', 'STATUS', 'OUTCOME', 'STARTED', 'TOOK', 'WORKER', 'ERROR'],
    attempts.map((attempt) => [
      attempt.step,
      String(attempt.attempt),
      attempt.status,
      attempt.outcome ?? '-',
      attempt.started_at === null ? '-' : agoText(new Date(attempt.started_at), now),
      attempt.durations || '-',
      attempt.worker ?? '-',
      errorText(attempt),
    ]),
  );
  return payloads ? lines.flatMap((line, index) => [line, ...payloadLines(attempts[index - 1])]) : lines;
}

function errorText({ error, batch }: AttemptView): string {
  const members = batch ? `${batch.completed} of ${batch.total} members completed, ${batch.failed} failed` : '';
  return [error ? `${error.class}: ${error.message}` : '', members].filter(Boolean).join('; ') || '-';
}

function payloadLines(attempt: AttemptView | undefined): string[] {
  if (!attempt) return [];
  const output = attempt.output === null ? [] : [`  output ${valueText(attempt.output)}`];
  const backtrace = attempt.error?.backtrace ?? null;
  return [
    ...output,
    ...(backtrace === null
      ? []
      : visible(backtrace)
          .split(/\r?\n/)
          .map((line) => `  ${line.trim()}`)),
  ];
}

function signalLines({ signals }: RunView, now: Date): string[] {
  if (signals.length === 0) return [];
  return table(
    ['NAME', 'STATUS', 'SENT', 'KEY', 'PAYLOAD'],
    signals.map((signal) => [
      signal.name,
      signal.status,
      agoText(new Date(signal.created_at), now),
      signal.idempotency_key ?? '-',
      valueText(signal.payload),
    ]),
  );
}

function trailLines({ events }: EventList, now: Date): string[] {
  const moments = events.map(({ created_at }) => agoText(new Date(created_at), now));
  const width = Math.max(0, ...moments.map(({ length }) => length));
  return events.map(({ text }, index) => `${moments[index]!.padEnd(width)}  ${oneLine(text)}`);
}

function valueText(value: unknown): string {
  return value === REDACTED ? `${REDACTED} (--payloads shows it)` : oneLine(JSON.stringify(value) ?? 'null');
}
