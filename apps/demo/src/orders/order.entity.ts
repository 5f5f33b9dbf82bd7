import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** What was ordered. Where it stands is not written here: its workflow knows. */
@Entity('orders')
export class Order {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('text')
  customer!: string;

  @Column('text')
  item!: string;

  @Column('integer')
  quantity!: number;

  /** In cents. */
  @Column('integer')
  amount!: number;

  @Column('text')
  card!: string;

  @Column('text')
  destination!: string;
}
