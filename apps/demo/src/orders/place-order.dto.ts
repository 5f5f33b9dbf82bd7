import { IsBoolean, IsInt, IsNotEmpty, IsOptional, IsPositive, IsString, Max } from 'class-validator';

/** The body of POST /orders. */
export class PlaceOrder {
  @IsString()
  @IsNotEmpty()
  customer!: string;

  @IsString()
  @IsNotEmpty()
  item!: string;

  @IsInt()
  @IsPositive()
  @Max(1_000)
  quantity!: number;

  /** In cents. */
  @IsInt()
  @IsPositive()
  @Max(1_000_000)
  amount!: number;

  @IsString()
  @IsNotEmpty()
  card!: string;

  @IsString()
  @IsNotEmpty()
  destination!: string;

  @IsOptional()
  @IsBoolean()
  gift?: boolean;
}
