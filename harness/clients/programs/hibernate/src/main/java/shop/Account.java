package shop;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

@Entity
public class Account {
  @Id
  public int id;
  public int balance;

  protected Account() {}

  Account(int id, int balance) {
    this.id = id;
    this.balance = balance;
  }
}
