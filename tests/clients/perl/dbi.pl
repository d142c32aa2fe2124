# DBD::mysql: statements, types, errors, transactions, what DBI asks of the schema.
use strict;
use warnings;
use DBI;

my $source = "DBI:$ARGV[0]:database=$ENV{CLIENTS_DATABASE};host=$ENV{CLIENTS_HOST};port=$ENV{CLIENTS_PORT}";
sub connected { DBI->connect($source, $ENV{CLIENTS_USER}, $ENV{CLIENTS_PASSWORD}, { RaiseError => 1, PrintError => 0, AutoCommit => 1, @_ }) }
sub same { my ($got, $wanted, $what) = @_; die "$what: " . ($got // 'undef') . " for $wanted\n" unless defined $got && $got eq $wanted }
sub refused { my ($work, $code, $db) = @_; eval { $work->(); 1 } and die "no error $code\n"; same($db->err, $code, 'an error') }

my %real = $ARGV[0] eq 'mysql' ? (mysql_server_prepare => 1, mysql_enable_utf8mb4 => 1) : (mariadb_server_prepare => 1);
my %plain = $ARGV[0] eq 'mysql' ? (mysql_enable_utf8mb4 => 1) : ();
for my $options (\%plain, \%real) {
    my $db = connected(%$options);
    $db->do('CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(30) NOT NULL UNIQUE, price DECIMAL(10,2), at DATETIME, raw BLOB)');
    $db->do('CREATE TABLE c (id INT PRIMARY KEY, t_id INT, CONSTRAINT owned FOREIGN KEY (t_id) REFERENCES t (id))');
    my $in = $db->prepare('INSERT INTO t (name, price, at, raw) VALUES (?, ?, ?, ?)');
    for my $n (1 .. 20) {
        $in->bind_param(4, "\0\xff'\\", DBI::SQL_BLOB());
        $in->execute("n$n\x{263a}", $n / 4, '2024-02-29 01:02:03', "\0\xff'\\");
    }
    same($db->last_insert_id(undef, undef, 't', 'id'), 20, 'the last id');
    my $row = $db->selectrow_hashref('SELECT * FROM t WHERE id = ?', {}, 6);
    same($row->{name}, "n6\x{263a}", 'a name');
    same($row->{price}, '1.50', 'a price');
    same($row->{raw}, "\0\xff'\\", 'raw');
    same(scalar @{ $db->selectall_arrayref('SELECT a.name, b.name FROM t a JOIN t b ON b.id = a.id + 1 WHERE a.price BETWEEN ? AND ?', {}, 1, 2) }, 5, 'rows of a join');
    same($db->do('UPDATE t SET price = price + 1 WHERE id < ?', {}, 4), 3, 'changed rows');
    refused(sub { $db->do("INSERT INTO t (name) VALUES (?)", {}, "n1\x{263a}") }, 1062, $db);
    same($db->state, '23000', 'a state');
    refused(sub { $db->do('INSERT INTO c VALUES (1, 99)') }, 1452, $db);
    refused(sub { $db->do('SELEC') }, 1064, $db);
    $db->begin_work;
    $db->do('DELETE FROM t');
    $db->rollback;
    same($db->selectrow_array('SELECT COUNT(*) FROM t'), 20, 'rows after a rollback');
    same(join(',', map { $_->{COLUMN_NAME} } @{ $db->column_info(undef, $ENV{CLIENTS_DATABASE}, 't', '%')->fetchall_arrayref({}) }), 'id,name,price,at,raw', 'columns');
    same(join(',', $db->primary_key(undef, $ENV{CLIENTS_DATABASE}, 't')), 'id', 'a primary key');
    same(join(',', map { s/.*\.//r =~ s/`//gr } $db->tables(undef, $ENV{CLIENTS_DATABASE}, '%', 'TABLE')), 'c,t', 'tables');
    my $keys = $db->foreign_key_info(undef, undef, undef, undef, $ENV{CLIENTS_DATABASE}, 'c')->fetchall_arrayref({});
    same(join(',', grep { defined } map { $_->{PKTABLE_NAME} } @$keys), 't', 'a foreign key');
    same($db->ping, 1, 'ping');
    my $sth = $db->prepare('SELECT * FROM t LIMIT 1');
    $sth->execute;
    same(join(',', @{ $sth->{NAME_lc} }), 'id,name,price,at,raw', 'names');
    same(join(',', map { $_ ? 1 : 0 } @{ $sth->{NULLABLE} }), '0,0,1,1,1', 'what may be NULL');
    $sth->finish;
    $db->do('DROP TABLE c, t');
    $db->disconnect;
}
