import type { Type } from '@nestjs/common';
import { AttentionController } from './attention.controller.js';
import { AttentionQuery, GroupBody } from './attention.input.js';
import { DashboardController, DashboardSlashController } from './dashboard.controller.js';
import { DefinitionsController, WindowQuery } from './definitions.controller.js';
import { fieldsOf } from '../operating/input-field.js';
import { loadSwagger } from '../operating/swagger.js';
import { PageQuery, RunListQuery } from './run-list.query.js';
import { RunsController } from './runs.controller.js';
import { SummaryController } from './summary.controller.js';
import { UnknownController } from './unknown.controller.js';
import { RescheduleBody, ResumeAtBody, SignalBody, VerbBody } from './verb.bodies.js';
import { VerbsController } from './verbs.controller.js';

/** What `@nestjs/swagger` is used for. */
interface Swagger {
  readonly ApiTags: (...tags: string[]) => ClassDecorator;
  readonly ApiExcludeController: () => ClassDecorator;
  readonly ApiOperation: (options: { summary: string }) => MethodDecorator;
  readonly ApiParam: (options: { name: string; description: string; schema: object }) => MethodDecorator;
  readonly ApiQuery: (options: object) => MethodDecorator;
  readonly ApiBody: (options: { type: Type }) => MethodDecorator;
  readonly ApiResponse: (options: { status: number; description: string; schema?: object }) => MethodDecorator;
  readonly ApiProperty: (options: object) => PropertyDecorator;
}

interface Route {
  readonly controller: Type;
  readonly method: string;
  readonly summary: string;
  readonly query?: Type;
  readonly body?: Type;
  readonly param?: 'id' | 'class';
  /** Answers `{ ok, reason, … }`. */
  readonly acts?: boolean;
}

const VERB = { controller: VerbsController, param: 'id', body: VerbBody, acts: true } as const;
const ROUTES: readonly Route[] = [
  { controller: RunsController, method: 'list', summary: 'Runs, newest first', query: RunListQuery },
  { controller: RunsController, method: 'run', summary: 'A run, its attempts and signals', param: 'id' },
  { controller: RunsController, method: 'events', summary: "A run's audit trail", param: 'id', query: PageQuery },
  { ...VERB, method: 'pause', summary: 'Nothing more of the run is claimed' },
  { ...VERB, method: 'resume', summary: 'A paused run goes on' },
  { ...VERB, method: 'resumeAt', summary: 'A paused run goes on at a step', body: ResumeAtBody },
  { ...VERB, method: 'runNow', summary: 'The scheduled step is due now' },
  { ...VERB, method: 'reschedule', summary: 'The scheduled step is due at another time', body: RescheduleBody },
  { ...VERB, method: 'skip', summary: 'The step that the run waits at is passed over' },
  { ...VERB, method: 'signal', summary: 'Sends the run a signal', body: SignalBody },
  { ...VERB, method: 'rerun', summary: 'Starts an ended run again, as a new one' },
  { ...VERB, method: 'cancel', summary: 'Ends the run' },
  { controller: AttentionController, method: 'groups', summary: 'Runs that need a person', query: AttentionQuery },
  { controller: AttentionController, method: 'resume', summary: 'Resumes a group', body: GroupBody, acts: true },
  { controller: AttentionController, method: 'cancel', summary: 'Cancels a group', body: GroupBody, acts: true },
  { controller: DefinitionsController, method: 'list', summary: 'Workflow classes in numbers', query: WindowQuery },
  { controller: DefinitionsController, method: 'definition', summary: 'A class', query: WindowQuery, param: 'class' },
  { controller: SummaryController, method: 'summary', summary: 'Counts, queues and workers' },
];

const INPUTS = [
  RunListQuery,
  PageQuery,
  WindowQuery,
  AttentionQuery,
  VerbBody,
  GroupBody,
  ResumeAtBody,
  RescheduleBody,
  SignalBody,
];

const ERROR = {
  type: 'object',
  required: ['statusCode', 'code', 'message'],
  properties: {
    statusCode: { type: 'integer' },
    code: { type: 'string' },
    message: { type: 'string' },
    field: { type: 'string' },
  },
};
const OUTCOME = {
  type: 'object',
  required: ['ok', 'reason'],
  properties: {
    ok: { type: 'boolean' },
    code: { type: 'string' },
    reason: { type: 'string' },
    run: { type: 'object', description: 'As `GET api/runs/{id}` shows it, after the action.' },
  },
};

let done = false;

/** Where the application has `@nestjs/swagger`, its document shows these routes. The decorators are put on here: it is an optional peer. */
export function describeInOpenApi(): void {
  const swagger = done ? undefined : loadSwagger<Swagger>();
  if (!swagger) return;
  done = true;
  for (const input of INPUTS) {
    for (const [name, { nullable, ...field }] of fieldsOf(input)) {
      const schema = { type: 'string', required: false, ...field, ...(nullable && { nullable }) };
      swagger.ApiProperty(schema)(input.prototype, name);
    }
  }
  for (const route of ROUTES) describe(swagger, route);
  for (const controller of new Set(ROUTES.map((route) => route.controller))) swagger.ApiTags('workflows')(controller);
  for (const hidden of [UnknownController, DashboardController, DashboardSlashController]) {
    swagger.ApiExcludeController()(hidden);
  }
}

function describe(swagger: Swagger, { controller, method, summary, query, body, param, acts }: Route): void {
  const prototype = controller.prototype as object;
  const decorate = (decorator: MethodDecorator) =>
    decorator(prototype, method, Object.getOwnPropertyDescriptor(prototype, method)!);
  const answer = (status: number, description: string, schema: object) =>
    decorate(swagger.ApiResponse({ status, description, schema }));
  decorate(swagger.ApiOperation({ summary }));
  if (param === 'id') {
    decorate(
      swagger.ApiParam({ name: 'id', description: "The run's id.", schema: { type: 'string', format: 'uuid' } }),
    );
  }
  if (param === 'class') {
    decorate(swagger.ApiParam({ name: 'class', description: "The class's name.", schema: { type: 'string' } }));
  }
  if (query) {
    for (const [name, { description, type = 'string', format, enum: values, default: byDefault }] of fieldsOf(
      query as new () => object,
    )) {
      const schema = { type, format, enum: values, default: byDefault };
      decorate(
        swagger.ApiQuery({ name, description, required: false, schema: JSON.parse(JSON.stringify(schema)) as object }),
      );
    }
  }
  if (body) decorate(swagger.ApiBody({ type: body }));
  answer(200, acts ? 'Done' : 'The answer', acts ? OUTCOME : { type: 'object' });
  answer(400, 'Wrong input', ERROR);
  answer(403, 'Not allowed', ERROR);
  if (param) answer(404, 'There is none', ERROR);
  if (acts) answer(409, 'It had moved on; nothing was done', OUTCOME);
  if (acts) answer(415, 'No JSON', ERROR);
}
