import { IsNotEmpty, IsString } from 'class-validator';

/** The body of POST /orders/:id/cancel. */
export class CancelOrder {
  @IsString()
  @IsNotEmpty()
  actor!: string;

  @IsString()
  @IsNotEmpty()
  reason!: string;
}
