import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { PullRequest } from './pull-request.entity';

const TEAM = ['barbara', 'edsger', 'grace'];

@Injectable()
export class Reviewers {
  /** Who has the fewest pull requests, and did not write this one. */
  async pick(author: string, manager: EntityManager): Promise<string> {
    const load = new Map<string, number>();
    for (const reviewer of TEAM) {
      if (reviewer !== author) load.set(reviewer, await manager.countBy(PullRequest, { reviewer }));
    }
    const least = Math.min(...load.values());
    return [...load].find(([, count]) => count === least)![0];
  }
}
