import { ENGINE_PARTS, type EngineParts } from '../../libs/workflow/src/engine/engine.parts';
import { AttentionReads } from '../../libs/workflow/src/insights/attention';
import { RunReads } from '../../libs/workflow/src/insights/run-reads';
import { SummaryReads } from '../../libs/workflow/src/insights/summary';
import { GroupActions } from '../../libs/workflow/src/service/group-actions';
import type { TestApp } from './suite';

/** The reads and group actions of an application, as its admin module has them. */
export function readsOf({ app }: Pick<TestApp, 'app'>) {
  const parts = app.get<EngineParts>(ENGINE_PARTS);
  const attention = new AttentionReads(parts);
  return {
    runs: new RunReads(parts),
    attention,
    summary: () => new SummaryReads(parts).summary(),
    actions: new GroupActions(parts, attention),
  };
}
