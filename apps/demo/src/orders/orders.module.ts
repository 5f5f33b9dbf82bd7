import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { MailModule } from '../mail/mail.module';
import { Carrier } from './carrier';
import { NotifyVendor } from './notify-vendor.job';
import { Order } from './order.entity';
import { OrderWorkflow } from './order.workflow';
import { OrdersController } from './orders.controller';
import { OrdersService } from './orders.service';
import { PaymentGateway } from './payment-gateway';
import { PaymentsController } from './payments.controller';
import { Stock } from './stock';
import { Reservation, StockItem } from './stock.entity';
import { Vendors } from './vendors';

/** Workflows and the jobs of their fan-outs are providers like any other: they are found by their decorators. */
@Module({
  imports: [MailModule, TypeOrmModule.forFeature([Order, StockItem, Reservation])],
  controllers: [OrdersController, PaymentsController],
  providers: [OrdersService, OrderWorkflow, NotifyVendor, PaymentGateway, Carrier, Stock, Vendors],
})
export class OrdersModule {}
