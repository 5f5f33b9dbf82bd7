import { AttentionReads } from '../insights/attention.js';
import { DefinitionReads } from '../insights/definitions.js';
import { RunReads } from '../insights/run-reads.js';
import { SummaryReads } from '../insights/summary.js';
import type { ServiceParts } from '../service/service.parts.js';

/** What tools answer from: the reads that REST has. */
export class McpReads {
  readonly runs: RunReads;
  readonly attention: AttentionReads;
  readonly summary: SummaryReads;
  readonly definitions: DefinitionReads;

  constructor(parts: ServiceParts) {
    this.runs = new RunReads(parts);
    this.attention = new AttentionReads(parts);
    this.summary = new SummaryReads(parts);
    this.definitions = new DefinitionReads(parts);
  }
}
