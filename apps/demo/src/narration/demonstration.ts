import type { INestApplication } from '@nestjs/common';
import { FanOutFailedError } from 'nestjs-pg-workflows';
import { IsNull } from 'typeorm';
import { confirmEarly, confirmWhenAsked } from './bank';
import { asExpected } from './expectations';
import { Follower } from './follower';
import { deliver, deliverAgain } from './github';
import { operate } from './operator';
import { until } from './patience';
import { reportBatch, reportRuns, reportTrail } from './report';
import { sceneOf } from './scene';
import { eraseOrders, placeOrders } from './shoppers';
import { headline } from './voice';
import { receiveGoods } from './warehouse';

/** Plays the demonstration once, and says whether all went as it should. */
export async function demonstrate(app: INestApplication, url: string): Promise<boolean> {
  const scene = await sceneOf(app, url);
  headline('What happens');
  const follower = new Follower(scene);
  const placed = await placeOrders(scene.client);
  const early = await confirmEarly(scene.client, placed);
  await receiveGoods(scene);
  const [operated, answered, confirmed] = await Promise.all([
    operate(scene),
    deliver(scene),
    confirmWhenAsked(scene.client, placed),
    eraseOrders(scene.client, placed),
  ]);
  await until(async () => (await scene.runs.countBy({ ...scene.played, endedAt: IsNull() })) === 0);
  await follower.end();
  const late = await deliverAgain(scene.client, answered);

  for (const { run } of operated.filter(({ error }) => error === FanOutFailedError.name)) {
    await reportTrail(run);
    await reportBatch(scene, run);
  }
  await reportRuns(scene);
  return asExpected(scene, { placed, payments: [...early, ...confirmed], operated, answered, late });
}
