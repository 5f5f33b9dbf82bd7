/** Plain JavaScript, because test/chaos, whose processes know no TypeScript, holds to the same invariants. */
export { brokenInvariants } from './invariants.mjs';
