package shop;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

@Entity
public class Transfer {
  @Id
  public String id;
  public int debit;
  public int credit;
  public int amount;
  public String note;

  protected Transfer() {}

  Transfer(String id, int debit, int credit, int amount, String note) {
    this.id = id;
    this.debit = debit;
    this.credit = credit;
    this.amount = amount;
    this.note = note;
  }
}
