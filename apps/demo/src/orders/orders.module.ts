import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { MailModule } from '../mail/mail.module';
import { Carrier } from './carrier';
import { Order } from './order.entity';
import { OrderWorkflow } from './order.workflow';
import { OrdersController } from './orders.controller';
import { OrdersService } from './orders.service';
import { PaymentGateway } from './payment-gateway';
import { Stock } from './stock';
import { Reservation, StockItem } from './stock.entity';

/** A workflow is a provider like any other: it is found by its decorator. */
@Module({
  imports: [MailModule, TypeOrmModule.forFeature([Order, StockItem, Reservation])],
  controllers: [OrdersController],
  providers: [OrdersService, OrderWorkflow, PaymentGateway, Carrier, Stock],
})
export class OrdersModule {}
