# ActiveRecord: migrations there and back, relations, errors of its own classes, the schema dumped and loaded again.
require "active_record"
require "stringio"

ActiveRecord::Base.establish_connection(adapter: "mysql2", host: ENV["CLIENTS_HOST"], port: ENV["CLIENTS_PORT"].to_i, username: ENV["CLIENTS_USER"],
                                        password: ENV["CLIENTS_PASSWORD"], database: ENV["CLIENTS_DATABASE"], encoding: "utf8mb4")
ActiveRecord::Migration.verbose = false

at_exit { abort $!.message.tr("\n", " ") if $!.is_a?(StandardError) }

def check(what, got, wanted)
  abort "#{what}: #{got.inspect} for #{wanted.inspect}" unless got == wanted
end

def refused(kind)
  yield
rescue kind
else
  abort "no #{kind}"
end

class First < ActiveRecord::Migration[6.1]
  def change
    create_table :authors, comment: "people" do |t|
      t.string :name, null: false, limit: 40, index: { unique: true }
      t.json :doc
      t.timestamps precision: 6
    end
    create_table :books do |t|
      t.references :author, foreign_key: { on_delete: :cascade }, null: false
      t.string :title, collation: "utf8mb4_bin"
      t.decimal :price, precision: 10, scale: 2, default: 0
      t.text :body, limit: 2**24 - 1
      t.binary :raw
      t.boolean :open, default: true, null: false
      t.date :day
      t.bigint :count, unsigned: true
      t.virtual :upper_title, type: :string, as: "upper(`title`)", stored: true
      t.index [:title, :price], name: "by_title", length: { title: 10 }, order: { price: :desc }
      t.check_constraint "price >= 0", name: "not_negative"
    end
    create_join_table(:books, :tags) { |t| t.index [:book_id, :tag_id], unique: true }
    create_table(:tags) { |t| t.string :word }
  end
end

class Second < ActiveRecord::Migration[6.1]
  def up
    add_column :books, :isbn, :string, after: :title, comment: "it's a number"
    change_column :books, :price, :decimal, precision: 12, scale: 3, null: false, default: 1
    rename_column :books, :day, :made_on
    change_column_null :books, :isbn, false, "none"
    change_column_default :books, :isbn, from: nil, to: "x"
    add_index :books, :isbn
    rename_index :books, "by_title", "by_title_and_price"
    change_column_comment :books, :title, "new"
    rename_table :tags, :labels
    remove_foreign_key :books, :authors
    add_foreign_key :books, :authors, name: "owned", on_delete: :cascade, on_update: :cascade
  end

  def down
    remove_foreign_key :books, name: "owned"
    add_foreign_key :books, :authors, on_delete: :cascade
    rename_table :labels, :tags
    rename_index :books, "by_title_and_price", "by_title"
    remove_column :books, :isbn
    rename_column :books, :made_on, :day
  end
end

First.migrate(:up)
Second.migrate(:up)
Second.migrate(:down)
Second.migrate(:up)

class Author < ActiveRecord::Base
  attribute :doc, :json
  has_many :books
end

class Label < ActiveRecord::Base
end

class Book < ActiveRecord::Base
  belongs_to :author
  has_and_belongs_to_many :labels, join_table: "books_tags", association_foreign_key: "tag_id"
  enum count: { none: 0, some: 5 }, _prefix: true
end

ann = Author.create!(name: "ann", doc: { "a" => [1] })
red = Label.create!(word: "red")
12.times { |n| Book.create!(author: ann, title: "t#{n}", price: n / 4.0, raw: "\0\xff".b, body: "ü😀", made_on: Date.new(2024, 2, 29), labels: n.odd? ? [red] : []) }
read = Book.find_by!(title: "t3")
check "a row", [read.upper_title, read.price, read.raw, read.made_on, read.open, read.author.doc], ["T3", BigDecimal("0.75"), "\0\xff".b, Date.new(2024, 2, 29), true, { "a" => [1] }]
check "a join", Author.joins(books: :labels).where(labels: { word: "red" }).group("authors.name").sum("books.price"), { "ann" => BigDecimal("9") }
check "a left join", Author.left_joins(:books).group(:id).having("COUNT(*) > 3").count, { 1 => 12 }
check "preloaded", Book.includes(:author, :labels).order(title: :desc).limit(2).map { |b| [b.title, b.author.name, b.labels.size] }, [["t9", "ann", 1], ["t8", "ann", 0]]
check "plucked", Book.where(price: 1..2).where.not(title: "t5").order(:price).pluck(:title), %w[t4 t6 t7 t8]
check "update_all", Book.where("price < ?", 1).update_all("price = price + 1"), 4
Author.upsert({ name: "ann", doc: { b: 1 }, created_at: Time.now, updated_at: Time.now })
check "insert_all", Author.insert_all([{ name: "ann", created_at: Time.now, updated_at: Time.now }, { name: "bob", created_at: Time.now, updated_at: Time.now }]).class, ActiveRecord::Result
check "in batches", Book.find_each(batch_size: 5).count, 12
Book.transaction do
  Book.lock("FOR UPDATE SKIP LOCKED").first
  Book.transaction(requires_new: true) { Book.delete_all; raise ActiveRecord::Rollback }
end
check "after a savepoint", Book.count, 12
refused(ActiveRecord::RecordNotUnique) { Author.create!(name: "ann") }
refused(ActiveRecord::InvalidForeignKey) { Book.new(author_id: 99, title: "x").save!(validate: false) }
refused(ActiveRecord::NotNullViolation) { Author.create!(name: nil) }
refused(ActiveRecord::ValueTooLong) { Author.create!(name: "x" * 41) }
refused(ActiveRecord::RangeError) { Book.connection.execute("UPDATE books SET price = 1e20") }
refused(ActiveRecord::StatementInvalid) { Book.create!(author: ann, price: -1) }
check "explained", Book.where(id: 1).explain.include?("EXPLAIN"), true

def dumped
  out = StringIO.new
  ActiveRecord::SchemaDumper.dump(ActiveRecord::Base.connection, out)
  out.string
end

before = dumped
%w[owned by_title_and_price not_negative virtual people].each { |word| abort "the dump of the schema has no #{word}:\n#{before}" unless before.include?(word) }
c = ActiveRecord::Base.connection
check "a table's keys", c.foreign_keys("books").map { |k| [k.name, k.on_delete, k.on_update] }, [["owned", :cascade, :cascade]]
check "a primary key", c.primary_key("books"), "id"
check "a comment", c.columns("books").find { |x| x.name == "isbn" }.comment, "it's a number"
c.disable_referential_integrity { c.tables.each { |t| c.drop_table(t) } }
ActiveRecord::Schema.verbose = false
eval(before)
check "the dump of what was loaded", dumped, before
c.disable_referential_integrity { c.tables.each { |t| c.drop_table(t) } }
