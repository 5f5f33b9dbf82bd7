import { AttentionReads } from '../insights/attention.js';
import { DefinitionReads } from '../insights/definitions.js';
import { RunReads } from '../insights/run-reads.js';
import { SummaryReads } from '../insights/summary.js';
import { GroupActions } from '../service/group-actions.js';
import type { ServiceParts } from '../service/service.parts.js';

/** What the routes answer from, and how a press on a group goes. Injection token too. */
export class AdminReads {
  readonly runs: RunReads;
  readonly attention: AttentionReads;
  readonly summary: SummaryReads;
  readonly definitions: DefinitionReads;
  readonly groups: GroupActions;

  constructor(parts: ServiceParts) {
    this.runs = new RunReads(parts);
    this.attention = new AttentionReads(parts);
    this.summary = new SummaryReads(parts);
    this.definitions = new DefinitionReads(parts);
    this.groups = new GroupActions(parts, this.attention);
  }
}
