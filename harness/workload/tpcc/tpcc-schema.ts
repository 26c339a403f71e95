/** The nine tables of TPC-C (clause 1.3), in a schema of their own, and the two indexes that its transactions ask for besides. */
const address = (prefix: string): string =>
  `${prefix}_street_1 varchar(20) NOT NULL, ${prefix}_street_2 varchar(20) NOT NULL, ${prefix}_city varchar(20) NOT NULL, ` +
  `${prefix}_state char(2) NOT NULL, ${prefix}_zip char(9) NOT NULL`;

const districtInfos = Array.from({ length: 10 }, (_, n) => infoOf(n + 1));

/** The column of stock that tells of a district. */
export function infoOf(district: number): string {
  return `s_dist_${String(district).padStart(2, '0')}`;
}

export const makeTables: readonly string[] = [
  'CREATE SCHEMA tpcc',
  `CREATE TABLE tpcc.warehouse (w_id int PRIMARY KEY, w_name varchar(10) NOT NULL, ${address('w')},
    w_tax numeric(4, 4) NOT NULL, w_ytd numeric(12, 2) NOT NULL)`,
  `CREATE TABLE tpcc.district (d_id int, d_w_id int, d_name varchar(10) NOT NULL, ${address('d')},
    d_tax numeric(4, 4) NOT NULL, d_ytd numeric(12, 2) NOT NULL, d_next_o_id int NOT NULL, PRIMARY KEY (d_w_id, d_id))`,
  `CREATE TABLE tpcc.customer (c_id int, c_d_id int, c_w_id int, c_first varchar(16) NOT NULL, c_middle char(2) NOT NULL,
    c_last varchar(16) NOT NULL, ${address('c')}, c_phone char(16) NOT NULL, c_since timestamptz NOT NULL, c_credit char(2) NOT NULL,
    c_credit_lim numeric(12, 2) NOT NULL, c_discount numeric(4, 4) NOT NULL, c_balance numeric(12, 2) NOT NULL,
    c_ytd_payment numeric(12, 2) NOT NULL, c_payment_cnt int NOT NULL, c_delivery_cnt int NOT NULL, c_data varchar(500) NOT NULL,
    PRIMARY KEY (c_w_id, c_d_id, c_id))`,
  `CREATE TABLE tpcc.history (h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, h_date timestamptz NOT NULL,
    h_amount numeric(6, 2) NOT NULL, h_data varchar(24) NOT NULL)`,
  `CREATE TABLE tpcc.orders (o_id int, o_d_id int, o_w_id int, o_c_id int NOT NULL, o_entry_d timestamptz NOT NULL, o_carrier_id int,
    o_ol_cnt int NOT NULL, o_all_local int NOT NULL, PRIMARY KEY (o_w_id, o_d_id, o_id))`,
  `CREATE TABLE tpcc.new_order (no_o_id int, no_d_id int, no_w_id int, PRIMARY KEY (no_w_id, no_d_id, no_o_id))`,
  `CREATE TABLE tpcc.item (i_id int PRIMARY KEY, i_im_id int NOT NULL, i_name varchar(24) NOT NULL, i_price numeric(5, 2) NOT NULL,
    i_data varchar(50) NOT NULL)`,
  `CREATE TABLE tpcc.stock (s_i_id int, s_w_id int, s_quantity int NOT NULL,
    ${districtInfos.map((name) => `${name} char(24) NOT NULL`).join(', ')}, s_ytd int NOT NULL, s_order_cnt int NOT NULL,
    s_remote_cnt int NOT NULL, s_data varchar(50) NOT NULL, PRIMARY KEY (s_w_id, s_i_id))`,
  `CREATE TABLE tpcc.order_line (ol_o_id int, ol_d_id int, ol_w_id int, ol_number int, ol_i_id int NOT NULL, ol_supply_w_id int NOT NULL,
    ol_delivery_d timestamptz, ol_quantity int NOT NULL, ol_amount numeric(6, 2) NOT NULL, ol_dist_info char(24) NOT NULL,
    PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))`,
];

/** Once the rows are there. */
export const makeConstraints: readonly string[] = [
  'CREATE INDEX ON tpcc.customer (c_w_id, c_d_id, c_last, c_first)',
  'CREATE INDEX ON tpcc.orders (o_w_id, o_d_id, o_c_id, o_id)',
  'ALTER TABLE tpcc.district ADD FOREIGN KEY (d_w_id) REFERENCES tpcc.warehouse',
  'ALTER TABLE tpcc.customer ADD FOREIGN KEY (c_w_id, c_d_id) REFERENCES tpcc.district',
  'ALTER TABLE tpcc.history ADD FOREIGN KEY (h_c_w_id, h_c_d_id, h_c_id) REFERENCES tpcc.customer',
  'ALTER TABLE tpcc.orders ADD FOREIGN KEY (o_w_id, o_d_id, o_c_id) REFERENCES tpcc.customer',
  'ALTER TABLE tpcc.new_order ADD FOREIGN KEY (no_w_id, no_d_id, no_o_id) REFERENCES tpcc.orders',
  'ALTER TABLE tpcc.stock ADD FOREIGN KEY (s_i_id) REFERENCES tpcc.item, ADD FOREIGN KEY (s_w_id) REFERENCES tpcc.warehouse',
  'ALTER TABLE tpcc.order_line ADD FOREIGN KEY (ol_w_id, ol_d_id, ol_o_id) REFERENCES tpcc.orders, ADD FOREIGN KEY (ol_supply_w_id, ol_i_id) REFERENCES tpcc.stock',
  'ANALYZE',
];

export const dropTables = 'DROP SCHEMA IF EXISTS tpcc CASCADE';
