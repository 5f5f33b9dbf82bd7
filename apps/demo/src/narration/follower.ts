import { setTimeout as pause } from 'node:timers/promises';
import { WorkflowService, type EventRecord, type WorkflowRun } from 'nestjs-pg-workflows';
import { isEnded, subjectOf } from './runs';
import type { Scene } from './scene';
import { tell } from './tell';
import { say } from './voice';

interface Line {
  readonly event: EventRecord;
  readonly about: string;
  readonly text: string;
}

/** Reads the audit trails as they grow, and says aloud what they say. */
export class Follower {
  private readonly told = new Map<string, number>();
  private readonly over = new Set<string>();
  private following = true;
  private readonly done: Promise<void>;

  constructor(private readonly scene: Scene) {
    this.done = this.follow();
    this.done.catch(() => {}); // end() will tell
  }

  /** Tells the rest, then stops. */
  async end(): Promise<void> {
    this.following = false;
    await this.done;
  }

  private async follow(): Promise<void> {
    for (let last = false; !last;) {
      last = !this.following;
      await this.look();
      if (!last) await pause(150);
    }
  }

  private async look(): Promise<void> {
    const lines: Line[] = [];
    for (const run of await this.scene.runs.findBy(this.scene.played)) {
      if (this.over.has(run.id)) continue;
      lines.push(...(await this.news(run)));
      if (isEnded(run)) this.over.add(run.id);
    }
    lines.sort((one, other) => Number(one.event.id) - Number(other.event.id));
    for (const { about, text } of lines) say(about, text);
  }

  private async news(run: WorkflowRun): Promise<Line[]> {
    const handle = await this.scene.app.get(WorkflowService).find(run.id);
    const events = await handle.events();
    const news = events.slice(this.told.get(run.id) ?? 0);
    this.told.set(run.id, events.length);
    if (!news.length) return [];
    const steps = await handle.steps();
    return news.flatMap((event) => {
      const text = tell(event, { events, steps });
      return text === null ? [] : [{ event, about: subjectOf(run), text }];
    });
  }
}
