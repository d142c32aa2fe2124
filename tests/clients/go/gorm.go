package main

import (
	"errors"
	"slices"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// User is the owner of items.
type User struct {
	gorm.Model
	Name  string  `gorm:"size:40;uniqueIndex;not null;comment:a name"`
	Email *string `gorm:"size:80;index:by_email_and_age,priority:1,length:10"`
	Age   uint8   `gorm:"index:by_email_and_age,priority:2,sort:desc;default:18"`
	Items []Item  `gorm:"constraint:OnDelete:CASCADE,OnUpdate:CASCADE"`
}

// Item has a price.
type Item struct {
	ID     uint64
	UserID uint
	User   User
	Name   string  `gorm:"type:varchar(60) collate utf8mb4_bin"`
	Price  float64 `gorm:"type:decimal(10,2);check:not_negative,price >= 0"`
	Raw    []byte
	Text   string `gorm:"type:mediumtext"`
	At     time.Time `gorm:"precision:6"`
	On     bool      `gorm:"default:true"`
	Tags   []Tag `gorm:"many2many:item_tags"`
}

// Tag is a word.
type Tag struct {
	ID   uint
	Word string `gorm:"size:20"`
}

// Second is what Item becomes.
type Second struct {
	ID     uint64
	UserID uint
	Title  string `gorm:"size:100;index"`
	Price  float64 `gorm:"type:decimal(14,4);not null;default:1"`
	More   string `gorm:"size:10;default:its"`
}

// TableName is Item's.
func (Second) TableName() string { return "items" }

func useGorm() {
	db, err := gorm.Open(mysql.Open(dsn("&charset=utf8mb4&loc=UTC")), &gorm.Config{TranslateError: true, Logger: logger.Default.LogMode(logger.Silent)})
	must(err)
	must(db.AutoMigrate(&User{}, &Tag{}, &Item{}))
	must(db.AutoMigrate(&User{}, &Tag{}, &Item{}))
	red := Tag{Word: "red"}
	must(db.Create(&red).Error)
	ann := User{Name: "ann", Items: []Item{{Name: "a", Price: 1, At: time.Now()}, {Name: "b", Price: 2.5, Tags: []Tag{red}, At: time.Now(), Raw: []byte{0, 255}}}}
	must(db.Create(&ann).Error)
	same("an id", ann.Items[1].ID, uint64(2))
	many := make([]Item, 100)
	for n := range many {
		many[n] = Item{UserID: ann.ID, Name: "m", Price: float64(n), At: time.Now()}
	}
	must(db.CreateInBatches(&many, 30).Error)
	var read User
	must(db.Preload("Items", "price < ?", 3).Preload("Items.Tags").First(&read, "name = ?", "ann").Error)
	same("preloaded", []any{len(read.Items), read.Items[1].Tags[0].Word, read.Age}, []any{5, "red", uint8(18)})
	var sums []struct {
		Name  string
		N     int
		Total float64
	}
	must(db.Model(&Item{}).Select("users.name, COUNT(*) n, SUM(price) total").Joins("JOIN users ON users.id = items.user_id").Group("users.name").Having("COUNT(*) > ?", 1).Scan(&sums).Error)
	same("sums", []any{sums[0].N, sums[0].Total}, []any{102, 4953.5})
	same("updated", db.Model(&Item{}).Where("price < ?", 3).Update("price", gorm.Expr("price + ?", 1)).RowsAffected, int64(5))
	must(db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&User{Name: "ann", Age: 30}).Error)
	must(db.Clauses(clause.OnConflict{DoNothing: true}).Create(&User{Name: "ann"}).Error)
	must(db.FirstOrCreate(&User{}, User{Name: "bob"}).Error)
	must(db.Transaction(func(tx *gorm.DB) error {
		must(tx.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).Find(&[]Item{}).Error)
		_ = tx.Transaction(func(inner *gorm.DB) error {
			must(inner.Where("1 = 1").Delete(&Tag{}, "id < 0").Error)
			return errors.New("back")
		})
		return nil
	}))
	for _, try := range []struct {
		err    error
		wanted error
	}{
		{db.Create(&User{Name: "ann"}).Error, gorm.ErrDuplicatedKey},
		{db.Create(&Item{UserID: 99, At: time.Now()}).Error, gorm.ErrForeignKeyViolated},
	} {
		if !errors.Is(try.err, try.wanted) {
			panic(try.err)
		}
	}
	if db.Create(&Item{UserID: ann.ID, Price: -1, At: time.Now()}).Error == nil {
		panic("a negative price was taken")
	}
	must(db.Delete(&User{}, "name = ?", "bob").Error)
	must(db.Unscoped().Delete(&User{}, "name = ?", "bob").Error)

	m := db.Migrator()
	must(m.RenameColumn(&Item{}, "name", "title"))
	must(m.DropConstraint(&Item{}, "not_negative"))
	must(db.AutoMigrate(&Second{}))
	same("what there is", []bool{m.HasTable("items"), m.HasColumn(&Second{}, "More"), m.HasIndex(&Second{}, "idx_items_title"), m.HasConstraint(&User{}, "Items"), m.HasColumn(&Item{}, "nope")}, []bool{true, true, true, true, false})
	types, err := m.ColumnTypes(&Second{})
	must(err)
	for _, t := range types {
		if t.Name() == "more" {
			value, _ := t.DefaultValue()
			same("a default", value, "its")
		}
	}
	indexes, err := m.GetIndexes(&User{})
	must(err)
	same("indexes", len(indexes), 4)
	tables, err := m.GetTables()
	must(err)
	slices.Sort(tables)
	same("tables", tables, []string{"item_tags", "items", "tags", "users"})
	must(m.DropColumn(&Second{}, "more"))
	must(m.DropTable("item_tags", "items", "tags", "users"))
}
