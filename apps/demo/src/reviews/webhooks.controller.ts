import { BadRequestException, Body, Controller, Headers, HttpCode, Post, ValidationPipe } from '@nestjs/common';
import { PullRequestOpened } from './pull-request-opened.dto';
import { ReviewsService, type DeliveryAnswer } from './reviews.service';

/** What GitHub calls. Which body to expect depends on a header, so the body is validated here and not by a global pipe. */
@Controller('webhooks')
export class WebhooksController {
  private readonly validation = new ValidationPipe({ transform: true, whitelist: true });

  constructor(private readonly reviews: ReviewsService) {}

  @Post('github')
  @HttpCode(202)
  async receive(
    @Headers('x-github-event') event: string | undefined,
    @Headers('x-github-delivery') delivery: string | undefined,
    @Body() body: { action?: unknown } | undefined,
  ): Promise<DeliveryAnswer> {
    if (!event || !delivery) throw new BadRequestException('x-github-event and x-github-delivery are required.');
    if (event !== 'pull_request' || body?.action !== 'opened') return { outcome: 'ignored' };
    const opened = await this.validation.transform(body, { type: 'body', metatype: PullRequestOpened });
    return this.reviews.opened(opened as PullRequestOpened, delivery);
  }
}
