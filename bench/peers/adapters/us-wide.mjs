// @ts-check
import { ours } from './ours.mjs';

/** As many steps in hand as pg-boss has jobs with 500 a call. */
export const peer = ours(1_000);
