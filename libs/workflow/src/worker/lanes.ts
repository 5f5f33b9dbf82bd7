import type { WorkflowRegistry } from '../registry/workflow.registry.js';
import type { Lane } from '../store/claim.js';

/**
 * Where this worker looks for due rows: the lanes of the loaded classes, those that were announced, and those that were found in
 * the table at the last poll, as far as it serves their queues.
 */
export class Lanes {
  private readonly declared = new Map<string, Lane>();
  private readonly found = new Map<string, Lane>();
  private turn = 0;

  constructor(
    registry: WorkflowRegistry,
    defaultQueue: string,
    /** Null: all. */
    private readonly queues: ReadonlySet<string> | null,
  ) {
    for (const { definition } of registry.jobs()) {
      this.put(this.declared, { queue: definition.queue ?? defaultQueue, priority: definition.priority });
    }
    for (const { definition } of registry.all()) {
      for (const { jobOptions } of definition.steps) {
        this.put(this.declared, { queue: jobOptions.queue ?? defaultQueue, priority: jobOptions.priority ?? 0 });
      }
    }
  }

  serves(queue: string): boolean {
    return this.queues === null || this.queues.has(queue);
  }

  /** Someone announced a row there. */
  add(lane: Lane): void {
    this.put(this.found, lane);
  }

  /** These have rows now; what was announced in the meantime is among them, or was taken. */
  replaceFound(lanes: readonly Lane[]): void {
    this.found.clear();
    for (const lane of lanes) this.put(this.found, lane);
  }

  /** By priority; within one, another queue comes first each time, so that none is starved. */
  inOrder(): Lane[] {
    const lanes = [...new Map([...this.declared, ...this.found]).values()];
    const queues = [...new Set(lanes.map(({ queue }) => queue))].toSorted();
    this.turn = queues.length ? (this.turn + 1) % queues.length : 0;
    const place = new Map(queues.map((queue, index) => [queue, (index + this.turn) % queues.length]));
    return lanes.toSorted((a, b) => a.priority - b.priority || place.get(a.queue)! - place.get(b.queue)!);
  }

  private put(into: Map<string, Lane>, { queue, priority }: Lane): void {
    if (this.serves(queue)) into.set(`${queue}\0${priority}`, { queue, priority });
  }
}
