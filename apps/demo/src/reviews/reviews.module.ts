import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { MailModule } from '../mail/mail.module';
import { PullRequest } from './pull-request.entity';
import { ReviewReminder } from './review-reminder';
import { ReviewWorkflow } from './review.workflow';
import { Reviewers } from './reviewers';
import { ReviewsService } from './reviews.service';
import { WebhooksController } from './webhooks.controller';

@Module({
  imports: [MailModule, TypeOrmModule.forFeature([PullRequest])],
  controllers: [WebhooksController],
  providers: [ReviewsService, ReviewWorkflow, ReviewReminder, Reviewers],
})
export class ReviewsModule {}
