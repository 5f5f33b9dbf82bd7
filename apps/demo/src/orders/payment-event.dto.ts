import { IsInt, IsNotEmpty, IsPositive, IsString } from 'class-validator';

/** The body of POST /webhooks/payments. */
export class PaymentEvent {
  /** The bank's id of this event: the same when it sends it again. */
  @IsString()
  @IsNotEmpty()
  event!: string;

  @IsInt()
  @IsPositive()
  orderId!: number;

  /** In cents. */
  @IsInt()
  @IsPositive()
  amount!: number;
}
