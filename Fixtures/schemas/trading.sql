-- A trading company: names with spaces, text keys, a composite key made of references to integer keys, CHECK
-- constraints, defaults, pictures, a self-reference and views that need quoting.

CREATE TABLE [Categories](
    [CategoryID] INTEGER PRIMARY KEY AUTOINCREMENT,
    [CategoryName] TEXT NOT NULL,
    [Description] TEXT,
    [Picture] BLOB
);

CREATE TABLE [Customers](
    [CustomerID] TEXT NOT NULL PRIMARY KEY,
    [CompanyName] TEXT NOT NULL,
    [ContactName] TEXT,
    [City] TEXT,
    [Country] TEXT DEFAULT 'unknown'
);

CREATE TABLE [CustomerDemographics](
    [CustomerTypeID] TEXT NOT NULL PRIMARY KEY,
    [CustomerDesc] TEXT
);

CREATE TABLE [CustomerCustomerDemo](
    [CustomerID] TEXT NOT NULL,
    [CustomerTypeID] TEXT NOT NULL,
    PRIMARY KEY ([CustomerID], [CustomerTypeID]),
    FOREIGN KEY ([CustomerID]) REFERENCES [Customers] ([CustomerID]),
    FOREIGN KEY ([CustomerTypeID]) REFERENCES [CustomerDemographics] ([CustomerTypeID])
);

CREATE TABLE [Employees](
    [EmployeeID] INTEGER PRIMARY KEY AUTOINCREMENT,
    [LastName] TEXT NOT NULL,
    [FirstName] TEXT NOT NULL,
    [BirthDate] DATE,
    [HireDate] DATE DEFAULT (date('2001-01-01')),
    [Photo] BLOB,
    [Notes] TEXT,
    [ReportsTo] INTEGER,
    CHECK ([HireDate] IS NULL OR [BirthDate] IS NULL OR [BirthDate] < [HireDate]),
    FOREIGN KEY ([ReportsTo]) REFERENCES [Employees] ([EmployeeID]) ON DELETE SET NULL
);

CREATE TABLE [Regions](
    [RegionID] INTEGER NOT NULL PRIMARY KEY,
    [RegionDescription] TEXT NOT NULL
);

CREATE TABLE [Territories](
    [TerritoryID] TEXT NOT NULL,
    [TerritoryDescription] TEXT NOT NULL,
    [RegionID] INTEGER NOT NULL,
    PRIMARY KEY ([TerritoryID]),
    FOREIGN KEY ([RegionID]) REFERENCES [Regions] ([RegionID])
);

CREATE TABLE [EmployeeTerritories](
    [EmployeeID] INTEGER NOT NULL,
    [TerritoryID] TEXT NOT NULL,
    PRIMARY KEY ([EmployeeID], [TerritoryID]),
    FOREIGN KEY ([EmployeeID]) REFERENCES [Employees] ([EmployeeID]) ON DELETE CASCADE,
    FOREIGN KEY ([TerritoryID]) REFERENCES [Territories] ([TerritoryID]) ON DELETE CASCADE
);

CREATE TABLE [Shippers](
    [ShipperID] INTEGER PRIMARY KEY AUTOINCREMENT,
    [CompanyName] TEXT NOT NULL,
    [Phone] TEXT
);

CREATE TABLE [Suppliers](
    [SupplierID] INTEGER PRIMARY KEY AUTOINCREMENT,
    [CompanyName] TEXT NOT NULL,
    [HomePage] TEXT
);

CREATE TABLE [Products](
    [ProductID] INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    [ProductName] TEXT NOT NULL,
    [SupplierID] INTEGER,
    [CategoryID] INTEGER,
    [UnitPrice] NUMERIC DEFAULT 0,
    [UnitsInStock] INTEGER DEFAULT 0,
    [Discontinued] TEXT NOT NULL DEFAULT '0',
    CHECK ([UnitPrice] >= 0),
    CHECK ([UnitsInStock] >= 0),
    FOREIGN KEY ([CategoryID]) REFERENCES [Categories] ([CategoryID]),
    FOREIGN KEY ([SupplierID]) REFERENCES [Suppliers] ([SupplierID])
);

CREATE TABLE [Orders](
    [OrderID] INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    [CustomerID] TEXT,
    [EmployeeID] INTEGER,
    [OrderDate] DATETIME,
    [ShipVia] INTEGER,
    [Freight] NUMERIC DEFAULT 0,
    [ShipName] TEXT,
    FOREIGN KEY ([EmployeeID]) REFERENCES [Employees] ([EmployeeID]),
    FOREIGN KEY ([CustomerID]) REFERENCES [Customers] ([CustomerID]),
    FOREIGN KEY ([ShipVia]) REFERENCES [Shippers] ([ShipperID])
);

CREATE TABLE [Order Details](
    [OrderID] INTEGER NOT NULL,
    [ProductID] INTEGER NOT NULL,
    [UnitPrice] NUMERIC NOT NULL DEFAULT 0,
    [Quantity] INTEGER NOT NULL DEFAULT 1,
    [Discount] REAL NOT NULL DEFAULT 0,
    PRIMARY KEY ([OrderID], [ProductID]),
    CHECK ([Discount] >= 0 AND [Discount] <= 1),
    CHECK ([Quantity] > 0),
    CHECK ([UnitPrice] >= 0),
    FOREIGN KEY ([OrderID]) REFERENCES [Orders] ([OrderID]) ON DELETE CASCADE,
    FOREIGN KEY ([ProductID]) REFERENCES [Products] ([ProductID])
);

CREATE INDEX [Products by name] ON [Products] ([ProductName]);
CREATE INDEX [Orders by date] ON [Orders] ([OrderDate] DESC, [CustomerID]);

CREATE VIEW [Alphabetical list of products] AS
SELECT [Products].*, [Categories].[CategoryName]
FROM [Categories] INNER JOIN [Products] ON [Categories].[CategoryID] = [Products].[CategoryID]
WHERE [Products].[Discontinued] = '0';

CREATE VIEW [Order Subtotals] AS
SELECT [Order Details].[OrderID], SUM([Order Details].[UnitPrice] * [Quantity] * (1 - [Discount])) AS [Subtotal]
FROM [Order Details]
GROUP BY [Order Details].[OrderID];

CREATE VIEW [Sales by Category] AS
SELECT c.[CategoryName], p.[ProductName], SUM(od.[Quantity]) AS [Units sold]
FROM [Categories] c
JOIN [Products] p ON p.[CategoryID] = c.[CategoryID]
JOIN [Order Details] od ON od.[ProductID] = p.[ProductID]
GROUP BY c.[CategoryName], p.[ProductName];
