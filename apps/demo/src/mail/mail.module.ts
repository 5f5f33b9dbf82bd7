import { Module } from '@nestjs/common';
import { Mailbox } from './mailbox';

@Module({ providers: [Mailbox], exports: [Mailbox] })
export class MailModule {}
