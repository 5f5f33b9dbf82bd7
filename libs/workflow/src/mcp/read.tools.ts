import { InvalidQueryError } from '../insights/query-error.js';
import { adminRunOf } from '../operating/access.js';
import { momentOf } from '../operating/input-rules.js';
import type { PlatformRequest } from '../operating/platform-request.js';
import { ATTENTION, DEFINITIONS, RUN, RUNS, STATS } from './answer-schemas.js';
import { Boundary } from './boundary.js';
import { failureOf, UNEXPECTED } from './failure.js';
import { inputSchemaOf, readArguments } from './read-arguments.js';
import {
  AttentionInput,
  DEFAULT_PAGE,
  DefinitionsInput,
  MAX_PAGE,
  StatsInput,
  WorkflowInput,
  WorkflowsInput,
} from './read.inputs.js';
import { answerOf, type Tool, type ToolParts } from './tool.js';

const READING = { readOnlyHint: true, destructiveHint: false, openWorldHint: false } as const;
const TIMES = 'Moments are ISO 8601 in UTC, durations ("…_ms") milliseconds.';

/** The tools that look: each the same read as a page of the dashboard. */
export function readTools(parts: ToolParts): Tool[] {
  const { access, acting, reads, settings } = parts;
  const boundary = (asked: boolean | undefined) => new Boundary(settings.allowPayloads && asked === true);
  return [
    tool(parts, {
      name: 'workflows',
      title: 'List workflow runs',
      description:
        'Lists runs, newest first: ongoing ones unless "status", "workflow_id" or an "ended_…" filter says otherwise. All filters combine. Use it to find a ' +
        'run by what it is about ("subject_type" and "subject_id"), or to list the runs of a group that workflows_attention shows: pass the group\'s ' +
        '"status", "workflow_class", "step", "stuck_reason" and "error_class" as they are. "now" and "next" say in words what a run does. A page has ' +
        `${DEFAULT_PAGE} runs, at most ${MAX_PAGE}; pass "next_cursor" as "cursor" for the next, until it is null. ${TIMES}`,
      input: WorkflowsInput,
      output: RUNS,
      answer: async (input, request) => {
        await access.assertMay(request, 'read', null);
        const { runs, next_cursor } = await reads.runs.list(filterOf(input), {
          limit: input.limit === undefined ? DEFAULT_PAGE : Number(input.limit),
          ...(input.cursor !== undefined && { cursor: input.cursor }),
        });
        return { runs: runs.map((run) => boundary(false).listed(run)), next_cursor };
      },
    }),
    tool(parts, {
      name: 'workflow',
      title: 'Show one workflow run',
      description:
        'Shows one run: what it does now and next in words, "available_actions" (the only ones that will be accepted now), the steps it can be resumed at, ' +
        'its newest hundred attempts (newest first) with their errors, its signals, and its audit trail (oldest first, a hundred lines at a time). Read it ' +
        `before you act on a run, and again if an action was refused. Payloads are redacted unless asked for and permitted. ${TIMES}`,
      input: WorkflowInput,
      output: RUN,
      answer: async ({ workflow_id: id, events_cursor: cursor, include_payloads }, request) => {
        await access.assertMay(request, 'read', adminRunOf(await acting.find(id)));
        const [run, trail] = [
          await reads.runs.run(id),
          await reads.runs.events(id, cursor === undefined ? {} : { cursor }).catch(renamed),
        ];
        return {
          ...boundary(include_payloads).run(run),
          events: trail.events,
          events_next_cursor: trail.next_cursor,
        };
      },
    }),
    tool(parts, {
      name: 'workflows_attention',
      title: 'Runs that need a person',
      description:
        'Start here when asked what is wrong. Shows the runs that need a person in groups of one class, step, reason and error class, largest first (at most ' +
        '200), each with its size and since when. "stuck_reason": paused_error (a step failed and no policy knew better), stalled (its worker is gone or the ' +
        'step hung), paused_manual (somebody paused it), overdue (due, and no worker took it), waiting_overdue (waits for a signal without a deadline, for ' +
        `long). To see a group's runs call workflows with the group's fields; each is then fixed on its own. ${TIMES}`,
      input: AttentionInput,
      output: ATTENTION,
      answer: async ({ workflow_class, include_payloads }, request) => {
        await access.assertMay(request, 'read', null);
        const found = await reads.attention.groups(workflow_class === undefined ? {} : { class: workflow_class });
        const shown = boundary(include_payloads);
        return { ...found, groups: found.groups.map((group) => shown.group(group)) };
      },
    }),
    tool(parts, {
      name: 'workflow_definitions',
      title: 'Workflow classes in numbers',
      description:
        'Lists the workflow classes with how many runs are ongoing, paused, in need of a person, and how many finished and were cancelled in the window. Use ' +
        `it to learn what classes there are, then workflow_stats for one of them. A count's "filter" are arguments for workflows. ${TIMES}`,
      input: DefinitionsInput,
      output: DEFINITIONS,
      answer: async ({ window }, request) => {
        await access.assertMay(request, 'read', null);
        return boundary(false).numbers(await reads.definitions.definitions(window));
      },
    }),
    tool(parts, {
      name: 'workflow_stats',
      title: 'How a workflow class does',
      description:
        'With "workflow_class": its steps in order with the runs at each now, run times, pickup latency and failure rates (parts of 1) over the window, runs ' +
        'started and ended per bucket, where started runs have got to, and the same numbers by app revision. Percentiles of few samples say so in "note". ' +
        `Without it: ongoing, paused and stuck runs of all classes, queue depths, for how long the oldest step has been due (seconds), workers. ${TIMES}`,
      input: StatsInput,
      output: STATS,
      answer: async ({ workflow_class, window }, request) => {
        await access.assertMay(request, 'read', null);
        const { definitions, summary } = reads;
        return boundary(false).numbers(
          workflow_class === undefined ? await summary.summary() : await definitions.definition(workflow_class, window),
        );
      },
    }),
  ];
}

interface ReadTool<Input extends object> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: new () => Input;
  readonly output: object;
  readonly answer: (input: Input, request: PlatformRequest) => Promise<object>;
}

function tool<Input extends object>(
  { unexpected }: ToolParts,
  { name, title, description, input, output, answer }: ReadTool<Input>,
): Tool {
  return {
    listed: {
      name,
      title,
      description,
      inputSchema: inputSchemaOf(input),
      outputSchema: output,
      annotations: READING,
    },
    call: async ({ given, request }) => {
      try {
        return answerOf(await answer(await readArguments(input, given), request));
      } catch (error) {
        const failure = failureOf(error);
        if (!failure) unexpected(name, error);
        return { content: [{ type: 'text', text: failure?.message ?? UNEXPECTED }], isError: true };
      }
    },
  };
}

/** The filters, as reads take them. */
function filterOf({ status, workflow_class, workflow_id, cursor: _cursor, limit: _limit, ...filter }: WorkflowsInput) {
  const moments = (['created_from', 'created_to', 'ended_from', 'ended_to'] as const).flatMap((name) =>
    filter[name] === undefined ? [] : [[name, momentOf(filter[name])!] as const],
  );
  return {
    ...filter,
    ...(status !== undefined && { state: status }),
    ...(workflow_class !== undefined && { class: workflow_class }),
    ...(workflow_id !== undefined && { id: workflow_id }),
    ...Object.fromEntries(moments),
  };
}

/** The list of events knows its cursor by the name that REST has for it. */
function renamed(error: unknown): never {
  if (!(error instanceof InvalidQueryError) || error.field !== 'cursor') throw error;
  throw new InvalidQueryError(
    'events_cursor',
    'is none that this run gave: pass "events_next_cursor" as it was, or none, for the oldest lines.',
  );
}
