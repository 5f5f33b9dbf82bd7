import { checkDeploy } from '../insights/deploy-check.js';
import { EXIT } from './exit.js';
import { oneLine } from './output.js';
import type { Prepare } from './session.js';

/** `check`: what in flight this build would break. */
export const check: Prepare =
  ({ lists }) =>
  async ({ out, parts, runAtBoot, json, label }) => {
    const view = await checkDeploy(parts, { ignore: lists.get('ignore') ?? [], runAtBoot });
    const code = view.ok ? EXIT.fine : EXIT.refused;
    out.exitCode = code;
    if (json) {
      await out.json(view);
      return code;
    }
    for (const { text, advice } of view.findings) {
      await out.line(`${out.paint('red', '✗')} ${oneLine(text)}`);
      if (advice !== undefined) await out.line(`  ${oneLine(advice)}`);
    }
    for (const { text } of view.notes) await out.line(`${out.paint('yellow', '·')} ${oneLine(text)}`);
    const { found, needed } = view.schema;
    const ongoing = `${view.ongoing} ongoing ${view.ongoing === 1 ? 'run' : 'runs'}, schema ${found ?? 'none'} (this build needs ${needed})`;
    const count = view.findings.length;
    await out.line(
      view.ok
        ? `${out.paint('green', '✓')} ${label} goes with what is in flight: ${ongoing}.`
        : `${label} would break ${count === 1 ? 'one thing' : `${count} things`}: ${ongoing}.`,
    );
    return code;
  };
