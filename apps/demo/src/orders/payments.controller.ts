import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { OrdersService } from './orders.service';
import { PaymentEvent } from './payment-event.dto';

/** What the bank calls. */
@Controller('webhooks/payments')
export class PaymentsController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  @HttpCode(202)
  confirmed(@Body() event: PaymentEvent) {
    return this.orders.paymentConfirmed(event);
  }
}
