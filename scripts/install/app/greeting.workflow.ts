import { Injectable } from '@nestjs/common';
import { Step, Workflow, WorkflowOf, type Ctx } from 'nestjs-pg-workflows';

@Injectable()
export class Letterbox {
  readonly letters: string[] = [];
}

/** Two steps, typed arguments, an output that the next step reads, and something injected by its type. */
@Workflow()
export class GreetingWorkflow extends WorkflowOf<null, { name: string; since?: Date }> {
  constructor(private readonly letterbox: Letterbox) {
    super();
  }

  @Step()
  async compose(ctx: Ctx<this>) {
    ctx.output({ text: `Hello, ${ctx.args.name}`, since: ctx.args.since });
  }

  @Step()
  async send(ctx: Ctx<this>) {
    const composed = await ctx.outputOf<{ text: string; since: Date }>('compose');
    this.letterbox.letters.push(`${composed!.text}, since ${composed!.since.getUTCFullYear()}`);
  }
}
