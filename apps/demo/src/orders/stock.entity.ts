import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('stock')
export class StockItem {
  @PrimaryColumn('text')
  item!: string;

  @Column('text')
  shelf!: string;

  /** Not reserved by any order. */
  @Column('integer')
  available!: number;
}

/** What an order holds back. */
@Entity('reservations')
export class Reservation {
  @PrimaryColumn({ name: 'order_id', type: 'integer' })
  orderId!: number;

  @Column('text')
  item!: string;

  @Column('integer')
  quantity!: number;
}
