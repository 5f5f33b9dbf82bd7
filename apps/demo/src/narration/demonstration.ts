import type { INestApplication } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { asExpected } from './expectations';
import { Follower } from './follower';
import { deliver, deliverAgain } from './github';
import { operate } from './operator';
import { until } from './patience';
import { reportRuns, reportTrail } from './report';
import { sceneOf } from './scene';
import { eraseOrders, placeOrders } from './shoppers';
import { headline } from './voice';

/** Plays the demonstration once, and says whether all went as it should. */
export async function demonstrate(app: INestApplication, url: string): Promise<boolean> {
  const scene = await sceneOf(app, url);
  headline('What happens');
  const follower = new Follower(scene);
  const placed = await placeOrders(scene.client);
  const [resumed, answered] = await Promise.all([
    operate(scene),
    deliver(scene.client),
    eraseOrders(scene.client, placed),
  ]);
  await until(async () => (await scene.runs.countBy({ endedAt: IsNull() })) === 0);
  await follower.end();
  const late = await deliverAgain(scene.client, answered);

  if (resumed) await reportTrail(resumed);
  await reportRuns(scene);
  return asExpected(scene, { placed, answered, late });
}
