// @ts-check
import { CONCURRENCY } from '../peer.mjs';
import { ours } from './ours.mjs';

export const peer = ours(CONCURRENCY);
