/**
 * How often each race is run: often enough here to meet a mistake, somewhat more often in CI, and a thousand times where time is no matter
 * (`npm run test:races`).
 */
export const RACE_ROUNDS = Number(process.env.RACE_ROUNDS ?? 250);
