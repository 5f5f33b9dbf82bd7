import {
  BadRequestException,
  Body,
  Controller,
  Headers,
  HttpCode,
  Post,
  ValidationPipe,
  type Type,
} from '@nestjs/common';
import { PullRequestClosed, PullRequestOpened, PullRequestReviewed } from './github-events.dto';
import { ReviewsService, type DeliveryAnswer } from './reviews.service';

/** What GitHub calls. Which body to expect depends on a header, so the body is validated here and not by a global pipe. */
@Controller('webhooks/github')
export class WebhooksController {
  private readonly validation = new ValidationPipe({ transform: true, whitelist: true });

  constructor(private readonly reviews: ReviewsService) {}

  @Post()
  @HttpCode(202)
  async receive(
    @Headers('x-github-event') event: string | undefined,
    @Headers('x-github-delivery') delivery: string | undefined,
    @Body() body: { action?: unknown } | undefined,
  ): Promise<DeliveryAnswer> {
    if (!event || !delivery) throw new BadRequestException('x-github-event and x-github-delivery are required.');
    if (event === 'pull_request_review') {
      return this.reviews.reviewed(await this.valid(PullRequestReviewed, body), delivery);
    }
    if (event === 'pull_request' && body?.action === 'opened') {
      return this.reviews.opened(await this.valid(PullRequestOpened, body), delivery);
    }
    if (event === 'pull_request' && body?.action === 'closed') {
      return this.reviews.closed(await this.valid(PullRequestClosed, body), delivery);
    }
    return { outcome: 'ignored' };
  }

  private valid<Dto>(metatype: Type<Dto>, body: unknown): Promise<Dto> {
    return this.validation.transform(body, { type: 'body', metatype });
  }
}
