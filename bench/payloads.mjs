// @ts-check
// What an application keeps with a run: an order of some lines, about 1.5 KB of JSON.

/** @param {number} number */
export function order(number) {
  return {
    number,
    customer: {
      id: 10_000 + number,
      name: 'Ada Lovelace',
      email: `customer-${number}@example.com`,
      vip: number % 7 === 0,
    },
    address: { street: '12 St James’s Square', city: 'London', postcode: 'SW1Y 4LB', country: 'GB', notes: null },
    currency: 'EUR',
    total: 1_234.56 + number,
    lines: Array.from({ length: 9 }, (_, line) => ({
      sku: `SKU-${number}-${line}`,
      title: `An article of the catalogue, number ${line}`,
      quantity: line + 1,
      price: 19.9 * (line + 1),
      tags: ['in stock', 'fragile'],
    })),
  };
}

/** @param {number} number */
export function orderAsOfNow(number) {
  return { ...order(number), placedAt: new Date(1_700_000_000_000 + number * 1_000) };
}
