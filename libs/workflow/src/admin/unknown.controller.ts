import { All, Controller, Inject, Res } from '@nestjs/common';
import { Answering } from './answering.js';
import { Refusal } from '../operating/refusal.js';

/**
 * Paths under `api` that are no routes: behind the guards like all others, so that nobody learns which there are. Not a wildcard: Express and Fastify
 * spell them differently.
 */
@Controller()
export class UnknownController {
  constructor(@Inject(Answering) private readonly answering: Answering) {}

  @All(['api', 'api/:a', 'api/:a/:b', 'api/:a/:b/:c', 'api/:a/:b/:c/:d'])
  unknown(@Res() response: unknown): void {
    this.answering.refuse(
      response,
      new Refusal(404, 'NO_SUCH_ROUTE', 'There is no such route here, or not with this method.'),
    );
  }
}
