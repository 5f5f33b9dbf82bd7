import { ENGINE_PARTS, type EngineParts } from '../../libs/workflow/src/engine/engine.parts';
import { AttentionReads } from '../../libs/workflow/src/insights/attention';
import type { RunLink } from '../../libs/workflow/src/insights/definition-views';
import { DefinitionReads } from '../../libs/workflow/src/insights/definitions';
import { RunReads } from '../../libs/workflow/src/insights/run-reads';
import type { TestApp } from './suite';

/** The reads of an application's classes, and the lists that their counts lead to. */
export function definitionReadsOf({ app }: Pick<TestApp, 'app'>) {
  const parts = app.get<EngineParts>(ENGINE_PARTS);
  const list = new RunReads(parts);
  const attention = new AttentionReads(parts);
  return {
    reads: new DefinitionReads(parts),
    /** How many runs the list shows with a count's filter. */
    listed: async (filter: RunLink) => (await list.list(filter, { limit: 100 })).runs.length,
    attention: async (filter: { readonly class: string }) => (await attention.groups(filter)).runs_total,
  };
}

/** A count that a view holds, and where in it. */
export interface FoundCount {
  readonly place: string;
  readonly count: number;
  readonly filter?: RunLink;
  readonly attention?: { readonly class: string };
}

/** Every count in a view that leads to a list. */
export function linkedCounts(view: unknown, place = ''): FoundCount[] {
  if (typeof view !== 'object' || view === null) return [];
  if (Object.hasOwn(view, 'filter') || Object.hasOwn(view, 'attention'))
    return [{ place, ...(view as Omit<FoundCount, 'place'>) }];
  return Object.entries(view).flatMap(([key, value]) => linkedCounts(value, `${place}/${key}`));
}
