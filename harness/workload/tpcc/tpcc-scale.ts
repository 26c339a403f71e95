/** How large a TPC-C database is. Clause 1.2.1 of the specification (revision 5.11); tests take smaller ones, of the same shape. */
export interface TpccScale {
  readonly warehouses: number;
  /** Of each district, of which a warehouse has ten. So many orders are there at first, too: one of each customer. */
  readonly customers: number;
  readonly items: number;
}

export const districtsPerWarehouse = 10;

export function fullScale(warehouses: number): TpccScale {
  return { warehouses, customers: 3000, items: 100_000 };
}

/** Of the first orders of a district, the last three in ten wait for their delivery. */
export function firstUndelivered({ customers }: TpccScale): number {
  return customers - Math.floor(customers * 0.3) + 1;
}
