import { Body, Controller, Delete, Get, HttpCode, Param, ParseIntPipe, Post } from '@nestjs/common';
import { viewOf } from '../workflows/workflow.view';
import { CancelOrder } from './cancel-order.dto';
import { OrdersService } from './orders.service';
import { PlaceOrder } from './place-order.dto';

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  async place(@Body() body: PlaceOrder) {
    const { order, run } = await this.orders.place(body);
    return { id: order.id, workflow: run.id };
  }

  @Get(':id/workflow')
  async workflow(@Param('id', ParseIntPipe) id: number) {
    return viewOf(await this.orders.runOf(id));
  }

  @Post(':id/cancel')
  @HttpCode(204)
  cancel(@Param('id', ParseIntPipe) id: number, @Body() by: CancelOrder) {
    return this.orders.cancel(id, by);
  }

  @Delete(':id')
  @HttpCode(204)
  erase(@Param('id', ParseIntPipe) id: number) {
    return this.orders.erase(id);
  }
}
