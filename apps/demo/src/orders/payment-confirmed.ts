import { IsInt, IsNotEmpty, IsPositive, IsString } from 'class-validator';
import { defineSignal } from 'nestjs-pg-workflows';

class ConfirmedPayment {
  /** In cents. */
  @IsInt()
  @IsPositive()
  amount!: number;

  /** What the bank calls it. */
  @IsString()
  @IsNotEmpty()
  reference!: string;
}

/** The bank says that the customer agreed. A payload that does not fit the class is refused before it is stored. */
export const PaymentConfirmed = defineSignal('payment_confirmed', ConfirmedPayment);
