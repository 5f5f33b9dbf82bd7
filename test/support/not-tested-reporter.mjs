// @ts-check
// Says at the end what was left out for want of something on this machine: skipped tests whose names begin so.

const BEGINS = 'not tested: ';

export default class NotTestedReporter {
  /**
   * @param {unknown} _contexts
   * @param {{ testResults: readonly { testResults: readonly { status: string, title: string }[] }[] }} results
   */
  onRunComplete(_contexts, { testResults }) {
    const skipped = testResults
      .flatMap((file) => file.testResults)
      .filter(({ status, title }) => status === 'pending' && title.startsWith(BEGINS));
    for (const title of new Set(skipped.map((one) => one.title))) console.error(`\nN${title.slice(1)}`);
  }
}
