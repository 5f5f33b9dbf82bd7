import { PlannedSize, sizeOf } from './planned-size.js';

const KB = 1024;

describe('PlannedSize', () => {
  test('while the table is small, and until it has grown fourfold, a statement keeps its name', () => {
    const size = new PlannedSize();
    for (const bytes of [0, 8 * KB, 1024 * KB]) size.measured(bytes);
    expect(size.nameOf('claim')).toBe('claim');
  });

  test('each time it has grown fourfold the name is another; shrinking changes nothing', () => {
    const size = new PlannedSize();
    const names = [1025, 4000, 4101, 100, 4101, 100_000].map((kilobytes) => {
      size.measured(kilobytes * KB);
      return size.nameOf('claim');
    });
    expect(names).toEqual(['claim_1', 'claim_1', 'claim_2', 'claim_2', 'claim_2', 'claim_3']);
  });

  test("a table's name is a text in SQL, whatever it holds", () => {
    expect(sizeOf(`"it's".steps`)).toContain(`('"it''s".steps'::regclass)`);
  });
});
