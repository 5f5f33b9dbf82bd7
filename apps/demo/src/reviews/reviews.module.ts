import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { MailModule } from '../mail/mail.module';
import { PullRequest } from './pull-request.entity';
import { ReviewWorkflow } from './review.workflow';
import { Reviewers } from './reviewers';
import { ReviewsService } from './reviews.service';
import { WebhooksController } from './webhooks.controller';

@Module({
  imports: [MailModule, TypeOrmModule.forFeature([PullRequest])],
  controllers: [WebhooksController],
  providers: [ReviewsService, ReviewWorkflow, Reviewers],
})
export class ReviewsModule {}
