import type { Locator, Page } from 'playwright-core';
import type { Suite } from '../support/suite';

/** The rows of a table, each cell's text as it is seen: without what is there for screen readers alone. */
export function shownRows(table: Locator): Promise<string[][]> {
  return table.locator('tbody tr').evaluateAll((rows) => {
    const seen = (cell: Element) => {
      const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      const parts: string[] = [];
      while (texts.nextNode()) {
        const { parentElement, textContent } = texts.currentNode;
        if (!parentElement?.closest('.mantine-VisuallyHidden-root')) parts.push(textContent!.trim());
      }
      return parts.filter((part) => part !== '').join(' ');
    };
    return rows.map((row) => Array.from(row.children, seen));
  });
}

/** Follows the link, waits until the list of runs shows as many as the link says, and goes back. Answers how many. */
export async function follow(suite: Suite, page: Page, link: Locator): Promise<number> {
  const name = (await link.textContent())!;
  const runs = Number.parseInt(name.replaceAll(',', ''), 10);
  await link.click();
  await page.getByRole('heading', { name: 'Runs', level: 1, exact: true }).waitFor();
  if (runs === 0) await page.getByText(/^No run fits/).waitFor();
  const rows = page.locator('main tr[data-row]');
  let listed = 0;
  await suite
    .eventually(async () => (listed = await rows.count()) === runs, `"${name}" leads to ${runs} runs`)
    .catch((error: Error) => {
      error.message += `; there are ${listed} at ${page.url()}`;
      throw error;
    });
  await page.goBack();
  await link.waitFor();
  return runs;
}

/** Follows every link to runs that counts some; answers their numbers. */
export async function followAll(suite: Suite, page: Page, within: Locator): Promise<number[]> {
  const links = within.locator('a[href*="#/runs?"]');
  const followed: number[] = [];
  for (let place = 0; place < (await links.count()); place += 1) {
    const link = links.nth(place);
    if (!(await link.textContent())!.startsWith('0 ')) followed.push(await follow(suite, page, link));
  }
  return followed;
}

/** Words of the page's tables that are broken over two lines where they have no hyphen, though they are no longer than a phone is wide. */
export function brokenWords(page: Page): Promise<string[]> {
  return page.locator('main table').evaluateAll((tables) => {
    const broken: string[] = [];
    for (const table of tables) {
      const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const node = texts.currentNode;
        for (const { 0: word, index } of node.textContent!.matchAll(/[^\s-]+/g)) {
          const range = document.createRange();
          range.setStart(node, index);
          range.setEnd(node, index + word.length);
          const lines = new Set(Array.from(range.getClientRects(), ({ top }) => Math.round(top)));
          if (lines.size > 1 && word.length <= 20) broken.push(word);
        }
      }
    }
    return broken;
  });
}
